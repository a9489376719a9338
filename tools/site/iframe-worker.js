"use strict";
// Pages that were opened from a folder may not start workers. Search then works in a hidden frame, which
// is spoken to in the same way; the theme expects this name.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.there = frame.contentWindow;
      this.there.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(address, location);
      this.loaded = new Promise((resolve) => script.addEventListener("load", resolve));
      frame.contentDocument.body.append(script);
    }
    async postMessage(data) {
      await this.loaded;
      this.there.dispatchEvent(new MessageEvent("message", { data }));
    }
  };
}
