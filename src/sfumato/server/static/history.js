// The questions of this visit: kept in the tab, forgotten with it.

const PLACE = "sfumato-history";
const MOST = 50;

export function remembered() {
  try {
    return JSON.parse(sessionStorage.getItem(PLACE) ?? "[]");
  } catch {
    return [];
  }
}

/** Put a question on top; asked again, it moves there. */
export function remember(entry) {
  const others = remembered().filter((one) => one.address !== entry.address);
  store([entry, ...others].slice(0, MOST));
}

export const forgetAll = () => sessionStorage.removeItem(PLACE);

function store(entries) {
  try {
    sessionStorage.setItem(PLACE, JSON.stringify(entries));
  } catch {
    // a full or forbidden storage only costs the history
  }
}
