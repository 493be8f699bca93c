/** The longest e-mail address that SMTP transmits. */
const MOST = 254

/** The e-mail address by which an account is found and its guesses are counted; '' is nobody's. */
export function accountName(email: string): string {
  const name = email.trim().toLowerCase()
  return name.length > MOST || /\p{C}/u.test(name) ? '' : name
}

/** Whether it may be the e-mail address of an operator. */
export const isAccountName = (email: string): boolean => /^[^\s@]+@[^\s@]+$/u.test(accountName(email))
