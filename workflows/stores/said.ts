/** Without the fields about which nothing is said. */
export const stated = <Said extends object>(said: { [Key in keyof Said]?: Said[Key] | undefined }): Said =>
  Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) as Said

/** A time of a period: whole seconds, UTC. */
export const secondOf = (ms: number): string => `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`

/** Two letters. */
export const countryOf = (stated: string | null | undefined): string | undefined => (/^[A-Z]{2}$/.test(stated ?? '') ? stated! : undefined)
