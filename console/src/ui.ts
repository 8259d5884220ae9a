// The parts of screens.
export * from "./ui/bits.tsx";
export * from "./ui/button.tsx";
export * from "./ui/dialog.tsx";
export * from "./ui/form.tsx";
export * from "./ui/icons.tsx";
export * from "./ui/states.tsx";
export * from "./ui/table.tsx";
