/** The object without its undefined fields: they are not stated. */
export const stated = <Fields extends object>(fields: { [Key in keyof Fields]?: Fields[Key] | undefined }): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields

export { secondOf } from '../../domain/kernel/time/instant.ts'

/** Two letters. */
export const countryOf = (stated: string | null | undefined): string | undefined => (/^[A-Z]{2}$/.test(stated ?? '') ? stated! : undefined)
