/** A bare address, mailbox at host; only the mail server knows whether it exists. */
const ADDRESS = /^[^\s@<>,;:"'()[\]\\\p{Cc}]{1,64}@[^\s@<>,;:"'()[\]\\\p{Cc}]{1,189}$/u

export const isMailAddress = (text: string): boolean => ADDRESS.test(text)

/** The host of a configured sender, `a@host` or `Name <a@host>`; null when there is none. */
export const hostOf = (from: string): string | null => /@([^\s@<>,;:"'()[\]\\\p{Cc}]{1,189})>?\s*$/u.exec(from)?.[1] ?? null
