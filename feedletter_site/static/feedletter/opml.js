// Importing feeds goes on by itself, part by part. Without this there is a button for the next part.
(() => {
  const form = document.getElementById("fl-step");
  const bar = document.getElementById("fl-bar");
  const words = document.getElementById("fl-progress");
  const said = document.getElementById("fl-said");
  const waits = [1, 3, 10];
  let failed = 0;

  const step = async () => {
    try {
      const answer = await fetch(form.action, {
        method: "POST",
        body: new FormData(form),
        headers: { Accept: "application/json" },
        redirect: "error",
      });
      if (!answer.ok) throw new Error(answer.status);
      const state = await answer.json();
      failed = 0;
      bar.value = state.done;
      words.textContent = `${state.done.toLocaleString("en")} of ${state.total.toLocaleString("en")}`;
      if (state.is_over) location.reload();
      else step();
    } catch {
      if (failed < waits.length) {
        said.textContent = "The service did not answer. It is asked again in a moment.";
        setTimeout(step, waits[failed++] * 1000);
      } else {
        said.textContent = "The service does not answer. What was added stays; go on when it is back.";
        form.hidden = false;
      }
    }
  };

  form.hidden = true;
  step();
})();
