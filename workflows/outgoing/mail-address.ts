/** A mailbox at a host, bare; what it really is, the mail server says. */
const ADDRESS = /^[^\s@<>,;:"'()[\]\\\p{Cc}]{1,64}@[^\s@<>,;:"'()[\]\\\p{Cc}]{1,189}$/u

export const isMailAddress = (text: string): boolean => ADDRESS.test(text)

/** The host of a sender as it is configured, `a@host` or `Name <a@host>`; null when there is none. */
export const hostOf = (from: string): string | null => /@([^\s@<>,;:"'()[\]\\\p{Cc}]{1,189})>?\s*$/u.exec(from)?.[1] ?? null
