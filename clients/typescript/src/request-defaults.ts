/** A request in which fields with an obvious default may be left out. */
export type Defaults<T, K extends keyof T> = Omit<T, K> & Partial<Pick<T, K>>;

/** Sats as millisats, in which amounts without a `currency` are. Whole sats only. */
export function sats(amount: number): number {
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError("sats are whole numbers");
  return amount * 1000;
}

/** Gives requests the defaults of `subkeys` and `currency`, which an undefined one has as well. */
export const withSubkeys = <T extends { subkeys?: string[] | undefined }>(body: T) => ({
  ...body,
  subkeys: body.subkeys === undefined ? [] : body.subkeys,
});
export const withCurrency = <T extends { currency?: string | undefined }>(body: T) => ({
  ...body,
  currency: body.currency === undefined ? "millisats" : body.currency,
});
export const priced = <T extends { subkeys?: string[]; currency?: string }>(body: T) => withCurrency(withSubkeys(body));
