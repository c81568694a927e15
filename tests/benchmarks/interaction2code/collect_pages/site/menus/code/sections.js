for (const button of document.querySelectorAll("[aria-expanded]")) {
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!open));
    document.getElementById(button.getAttribute("aria-controls")).hidden = open;
  });
}
const dialog = document.querySelector("dialog");
document.querySelector(".ask").onclick = () => dialog.showModal();
document.querySelector(".no").onclick = () => dialog.close();
document.querySelector(".yes").onclick = () => {
  document.querySelector(".gone").hidden = false;
};
