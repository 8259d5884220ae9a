const PATHS = {
  today: "M3 9l7-6 7 6v8H3z M8 17v-5h4v5",
  payments: "M2 5h16v10H2z M2 8.5h16 M5 12h3",
  links: "M8 12l4-4 M9 6l1.5-1.5a3.2 3.2 0 014.6 4.6L13.5 10.6 M11 14l-1.5 1.5a3.2 3.2 0 01-4.6-4.6L6.5 9.4",
  users: "M10 9.5a3 3 0 100-6 3 3 0 000 6z M4 17c0-3.3 2.7-5.5 6-5.5s6 2.2 6 5.5",
  subscriptions: "M16 7A6.5 6.5 0 004.3 6.5 M4 13a6.5 6.5 0 0011.7.5 M16 3v4h-4 M4 17v-4h4",
  webhooks: "M3 10h12 M11 5.5l4.5 4.5-4.5 4.5 M3 5v10",
  approvals: "M10 2.5l6.5 2.5v4.5c0 4-2.8 6.7-6.5 8-3.7-1.3-6.5-4-6.5-8V5z M7 10l2.2 2.2L13.2 8",
  checks: "M3 4h14v12H3z M6 13.5c.3-1.6 1.3-2.4 2.7-2.4s2.4.8 2.7 2.4 M8.7 9.4a1.5 1.5 0 100-3 1.5 1.5 0 000 3z M13.5 8h1.5 M13.5 11h1.5",
  tickets: "M2.5 6h15v2.5a1.6 1.6 0 000 3V14h-15v-2.5a1.6 1.6 0 000-3z M12 6v1.5 M12 9.3v1.4 M12 12.5V14",
  wallet: "M3 6.5V15a1.5 1.5 0 001.5 1.5h12v-9h-12A1.5 1.5 0 013 6a1.5 1.5 0 011.5-1.5H15v3 M13.5 12h.01",
  apps: "M3 3h5.5v5.5H3z M11.5 3H17v5.5h-5.5z M3 11.5h5.5V17H3z M11.5 11.5H17V17h-5.5z",
  keys: "M7 13.5a3.5 3.5 0 110-7 3.5 3.5 0 010 7z M10.5 10H18 M15 10v3 M18 10v2",
  relays: "M10 11.5a1.5 1.5 0 100-3 1.5 1.5 0 000 3z M6.5 13.5a5 5 0 010-7 M13.5 6.5a5 5 0 010 7 M4 16a8.5 8.5 0 010-12 M16 4a8.5 8.5 0 010 12",
  audit: "M5 2.5h7l3.5 3.5v11.5H5z M12 2.5V6h3.5 M7.5 10h5 M7.5 13h5",
  settings: "M3 6h7 M14 6h3 M3 14h3 M10 14h7 M12 8a2 2 0 100-4 2 2 0 000 4z M8 16a2 2 0 100-4 2 2 0 000 4z",
  phone: "M6 2.5h8v15H6z M9 15h2",
  search: "M9 14.5a5.5 5.5 0 100-11 5.5 5.5 0 000 11z M13 13l4 4",
  copy: "M7 7h9.5v9.5H7z M4 13V3.5h9.5",
  check: "M4 10.5l4 4 8-9",
  back: "M12 4.5L6.5 10l5.5 5.5",
  close: "M5 5l10 10 M15 5L5 15",
  menu: "M3 5.5h14 M3 10h14 M3 14.5h14",
  plus: "M10 4v12 M4 10h12",
  warn: "M10 3L18 17H2z M10 8.5v3.5 M10 14.4v.1",
  in: "M15 5L5.5 14.5 M5 7.5V15h7.5",
  out: "M5 15L14.5 5.5 M15 12.5V5H7.5",
  download: "M10 3v9.5 M6 9l4 4 4-4 M4 16.5h12",
  more: "M4.5 10h.01 M10 10h.01 M15.5 10h.01",
};
export type IconName = keyof typeof PATHS;

/** A decoration: what it means is said in words beside it, or by the label of its button. */
export function Icon({ name }: { name: IconName }) {
  return <svg class="icon" viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d={PATHS[name]} /></svg>;
}
