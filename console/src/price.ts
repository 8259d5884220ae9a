import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { useSession } from "./access.ts";
import { useResource } from "./hooks.ts";
import type { Schemas } from "./types.ts";

export interface Price {
  /** Of one bitcoin, in the currency's major unit. */
  value: number;
  currency: string;
}
export const PriceContext = createContext<Price | undefined>(undefined);
export const usePrice = () => useContext(PriceContext);

/** The price of a bitcoin in the operator's currency, read each minute; none if there is no rate. */
export function useCurrentPrice(): Price | undefined {
  const { currency, role } = useSession();
  const path = role && currency && /^[A-Za-z]{3}$/.test(currency) ? `/rates/${currency}` : null;
  const { data, error } = useResource<Schemas["CurrentRate"]>(path, { every: 60 });
  const value = Number(data?.value);
  return currency && !error && value > 0 ? { value, currency: currency.toUpperCase() } : undefined;
}
