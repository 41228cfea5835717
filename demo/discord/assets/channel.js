// Makes the page go on by itself: what arrives, forms without a reload, choices while somebody types.
const parsed = async answer => new DOMParser().parseFromString(await answer.text(), "text/html")
const log = () => document.querySelector(".log")
let isSent = false

function take(page) {
  const fresh = page.querySelector(".log")
  if (fresh && log() && fresh.innerHTML !== log().innerHTML) log().innerHTML = fresh.innerHTML
}

async function look() {
  if (document.hidden || isSent) return
  try {
    const answer = await fetch(location.pathname)
    if (!isSent && answer.ok) take(await parsed(answer))
  } catch {}
}

async function send(form, button) {
  isSent = true
  const typed = new URLSearchParams(new FormData(form, button))
  form.querySelectorAll("button").forEach(each => { each.disabled = true })
  try {
    const page = await parsed(await fetch(form.action, { method: "POST", body: typed }))
    document.querySelector("main").replaceWith(page.querySelector("main"))
    prepare(true)
  } catch {
    form.querySelectorAll("button").forEach(each => { each.disabled = false })
  }
  isSent = false
}

document.addEventListener("submit", event => {
  if (event.target.closest(".ask")) return
  event.preventDefault()
  send(event.target, event.submitter)
})
document.addEventListener("keydown", event => {
  const veil = document.querySelector(".veil")
  if (event.key === "Escape" && veil) close(veil)
})
document.addEventListener("click", event => {
  const veil = event.target.closest(".veil")
  if (!veil || (event.target !== veil && !event.target.matches(".acts a"))) return
  event.preventDefault()
  close(veil)
})

function close(veil) {
  veil.remove()
  document.querySelector("#line")?.focus()
}

let chosen = 0, asked = 0
const list = () => document.querySelector("#choices")

function show(choices) {
  chosen = 0
  list().replaceChildren(...choices.map((choice, place) => {
    const item = document.createElement("li"), label = document.createElement("b"), about = document.createElement("span")
    label.textContent = choice.label
    about.textContent = choice.about
    item.append(label, about)
    item.id = `choice-${place}`
    item.setAttribute("role", "option")
    item.dataset.line = choice.line
    return item
  }))
  point(0)
}

function point(place) {
  const items = [...list().children], field = document.querySelector("#line")
  chosen = (place + items.length) % (items.length || 1)
  items.forEach((item, each) => item.setAttribute("aria-selected", each === chosen))
  items[chosen]?.scrollIntoView({ block: "nearest" })
  field.setAttribute("aria-expanded", items.length > 0)
  items.length ? field.setAttribute("aria-activedescendant", `choice-${chosen}`) : field.removeAttribute("aria-activedescendant")
}

async function suggest() {
  const field = document.querySelector("#line"), turn = ++asked
  if (!field.value.startsWith("/")) return show([])
  try {
    const answer = await fetch(`${location.pathname}suggestions?${new URLSearchParams({ line: field.value })}`)
    const choices = await answer.json()
    if (turn === asked && document.activeElement === field) show(choices)
  } catch {}
}

function choose(item) {
  const field = document.querySelector("#line")
  field.value = item.dataset.line
  field.focus()
  suggest()
}

function prepare(isAgain) {
  const field = document.querySelector("#line")
  const first = document.querySelector(".modal input, .modal textarea")
  if (first) first.focus()
  if (!field) return
  field.removeAttribute("list")
  const choices = document.createElement("ul")
  choices.id = "choices"
  choices.setAttribute("role", "listbox")
  choices.setAttribute("aria-label", "Commands and options")
  field.form.append(choices)
  for (const [name, value] of [["role", "combobox"], ["aria-controls", "choices"], ["aria-expanded", "false"], ["aria-autocomplete", "list"]]) field.setAttribute(name, value)
  field.addEventListener("input", suggest)
  field.addEventListener("blur", () => { asked++; setTimeout(() => show([]), 150) })
  field.addEventListener("keydown", event => {
    const items = list().children, step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!items.length) return
    if (step) {
      event.preventDefault()
      point(chosen + step)
    } else if (event.key === "Escape") {
      asked++
      show([])
    } else if (event.key === "Tab" && !event.shiftKey) {
      event.preventDefault()
      choose(items[chosen])
    }
  })
  choices.addEventListener("mousedown", event => {
    const item = event.target.closest("li")
    event.preventDefault()
    if (item) choose(item)
  })
  if (!first && (isAgain || field.value)) {
    field.focus()
    field.setSelectionRange(field.value.length, field.value.length)
  }
}

prepare(false)
setInterval(look, 1000)
