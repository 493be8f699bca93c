/** A text of the console. `{name}` in it stands for a value. All texts pass here, so that a second language has one place to come in. */
export const t = (text: string, values: Readonly<Record<string, string | number>> = {}): string =>
  text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole))

/** One or many: `counted(3, '{n} promise', '{n} promises')`. */
export const counted = (n: number, one: string, many: string): string => t(n === 1 ? one : many, { n: n.toLocaleString('en') })

/** `billing_retry` as a person reads it: `Billing retry`. */
export const plain = (code: string): string => (code.charAt(0).toUpperCase() + code.slice(1)).replaceAll('_', ' ')
