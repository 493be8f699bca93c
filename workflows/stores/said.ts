/** Without the fields about which nothing is said. */
export const stated = <Said extends object>(said: { [Key in keyof Said]?: Said[Key] | undefined }): Said =>
  Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) as Said

export { secondOf } from '../../domain/kernel/time/instant.ts'

/** Two letters. */
export const countryOf = (stated: string | null | undefined): string | undefined => (/^[A-Z]{2}$/.test(stated ?? '') ? stated! : undefined)
