// A button that shows the password while it is typed. Everything works without this.
for (const field of document.querySelectorAll("input[type=password][data-show]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = field.form.querySelector(".button") ? "button quiet" : "fl-button fl-button-plain";
  button.textContent = field.dataset.show;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    const shows = field.type === "password";
    field.type = shows ? "text" : "password";
    button.setAttribute("aria-pressed", String(shows));
    field.focus();
  });
  field.after(button);
}
