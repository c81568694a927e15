"use strict";
// Shared by both editors: undo, saving of each change, and conflicts with other people.

const SAVE_AFTER = 400; // milliseconds without a change
const RETRY_AFTER = 4000;
const ONE_STEP = 1200; // changes of one kind that follow each other so fast are undone together

class Editing {
  /**
   * `state` is { name, content, revision, by, at } as the page carries it; `apply(content)` shows
   * another content; `both(mine, theirs, base)` merges the changes of two people to `base`, if that is possible.
   */
  constructor({ address, state, apply, both = null }) {
    Object.assign(this, { address, apply, both, name: state.name, content: state.content, revision: state.revision });
    this.base = state.content; // what mine was made from
    this.past = [];
    this.future = [];
    this.unsaved = false;
    this.place = document.getElementById("saved");
    this.show(state.by ? `Last changed by ${state.by}` : "Nothing changed yet");
    const done = document.getElementById("done");
    done.checked = this.content.done;
    done.addEventListener("change", () => this.change("", (content) => { content.done = done.checked; }));
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("click", (event) => this.leave(event));
    window.addEventListener("beforeunload", (event) => { if (this.unsaved || this.saving) { this.save(); event.preventDefault(); } });
  }

  /** Change a copy of the content. Consecutive changes with the same `step` are undone together. */
  change(step, alter) {
    const before = JSON.stringify(this.content);
    const content = JSON.parse(before);
    alter(content);
    if (JSON.stringify(content) === before) return;
    const now = Date.now();
    if (!step || this.step !== step || now - this.stepAt > ONE_STEP) this.past.push(before);
    Object.assign(this, { step, stepAt: now, future: [] });
    this.set(content);
  }

  undo() { this.travel(this.past, this.future); }
  redo() { this.travel(this.future, this.past); }

  travel(from, to) {
    if (!from.length) return;
    to.push(JSON.stringify(this.content));
    this.step = null;
    this.set(JSON.parse(from.pop()));
  }

  set(content) {
    this.content = content;
    document.getElementById("done").checked = content.done;
    this.apply(content);
    this.unsaved = true;
    this.show("Saving …");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), SAVE_AFTER);
  }

  /** Save unsaved changes, one request at a time; resolves when everything is saved. */
  save() {
    clearTimeout(this.timer);
    this.saving ??= this.sendAll().finally(() => { this.saving = null; });
    return this.saving;
  }

  async sendAll() {
    while (this.unsaved) {
      this.unsaved = false;
      const sent = { name: this.name, revision: this.revision, content: this.content };
      try {
        const answer = await studio.send(this.address, sent);
        this.revision = answer.revision;
        this.base = sent.content;
        if (!this.unsaved) this.show("Saved");
      } catch (error) {
        this.unsaved = true;
        if (error.status === 409) { await this.settle(JSON.parse(error.message)); continue; }
        const reason = error.status ? error.message : "the studio cannot be reached";
        this.show(`Not saved: ${reason.slice(0, 200)}`, true);
        if (!error.status || error.status >= 500) this.timer = setTimeout(() => this.save(), RETRY_AFTER);
        return;
      }
    }
  }

  /** Ask which version to keep after a conflict; undo restores the other one. */
  settle(theirs) {
    const dialog = document.getElementById("conflict");
    const at = new Date(theirs.at);
    document.getElementById("conflict-text").textContent =
      `${theirs.by || "Another person"} saved this at ${at.toLocaleTimeString()}, while you were working on it. Which version should be kept?`;
    this.show("Waiting for your choice", true);
    dialog.querySelector("[data-keep=both]").hidden = !this.both;
    return new Promise((resolve) => {
      const choose = (keep) => {
        const mine = this.content;
        this.revision = theirs.revision;
        const joined = keep === "both" ? this.both(mine, theirs.content, this.base) : keep === "mine" ? mine : theirs.content;
        this.past.push(JSON.stringify(keep === "theirs" ? mine : theirs.content));
        this.future = [];
        this.content = joined;
        this.base = theirs.content;
        this.unsaved = keep !== "theirs";
        document.getElementById("done").checked = joined.done;
        this.apply(joined);
        if (!this.unsaved) this.show(`Showing the version of ${theirs.by || "another person"}`);
        dialog.close();
        resolve();
      };
      for (const button of dialog.querySelectorAll("[data-keep]")) button.onclick = () => choose(button.dataset.keep);
      dialog.oncancel = (event) => event.preventDefault(); // something has to be chosen
      dialog.showModal();
    });
  }

  /** Follow links only after everything is saved. */
  async leave(event) {
    const link = event.target.closest("a[href]");
    const elsewhere = event.ctrlKey || event.metaKey || event.shiftKey || event.button;
    if (!link || elsewhere || link.getAttribute("href").startsWith("#") || !(this.unsaved || this.saving)) return;
    event.preventDefault();
    await this.save();
    if (!this.unsaved) location.assign(link.href);
  }

  key(event) {
    if (event.shiftKey && (event.key === "PageUp" || event.key === "PageDown")) {
      document.getElementById(event.key === "PageUp" ? "previous" : "next")?.click();
      event.preventDefault();
    }
    const typing = event.target.matches?.("input:not([type=checkbox]), textarea, select");
    if (typing || document.querySelector("dialog[open]")) return;
    const key = event.key.toLowerCase();
    if ((event.ctrlKey || event.metaKey) && (key === "z" || key === "y")) {
      if (key === "y" || event.shiftKey) this.redo(); else this.undo();
      event.preventDefault();
    } else if (event.key === "?") {
      this.help();
    }
  }

  help() { document.getElementById("keys").showModal(); }

  show(text, problem = false) {
    this.place.textContent = text;
    this.place.classList.toggle("problem", problem);
  }
}
