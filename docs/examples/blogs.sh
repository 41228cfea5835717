# Two blogs to try things with: docs/tutorial.md. `publish BLOG TITLE HTML` puts a post on top, `withdraw BLOG`
# removes it. Load it with `. docs/examples/blogs.sh`.
mkdir -p var/blogs
feed() {
  { echo "<rss version=\"2.0\"><channel><title>$1</title><link>http://127.0.0.1:8801/</link>"
    cat "var/blogs/$1.items"; echo "</channel></rss>"; } > "var/blogs/$1.xml"
}
publish() {
  touch "var/blogs/$1.items"
  number=$(($(ls var/blogs | grep -c "^$1-") + 1))
  echo "<h1>$2</h1>$3" > "var/blogs/$1-$number.html"
  { printf '<item><title>%s</title><link>http://127.0.0.1:8801/%s-%s.html</link>' "$2" "$1" "$number"
    printf '<pubDate>%s</pubDate>' "$(LC_ALL=C date -u '+%a, %d %b %Y %H:%M:%S GMT')"
    printf '<description><![CDATA[%s]]></description></item>\n' "$3"
    cat "var/blogs/$1.items"; } > var/blogs/new
  mv var/blogs/new "var/blogs/$1.items"
  feed "$1"
}
withdraw() {
  tail -n +2 "var/blogs/$1.items" > var/blogs/new
  mv var/blogs/new "var/blogs/$1.items"
  feed "$1"
}
