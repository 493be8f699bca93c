import type { StoreWord } from '../../domain/purchases/verification.ts'

const LONGEST_MESSAGE = 200
const LONGEST_CODE = 80
/** Longer than the ids that stores give, and shorter than tokens and keys. */
const LONG_WORD = /[\w.~+/=-]{60,}|\b(sk|rk|pdl|whsec)_\w+/g

/** Of a service account, or of a customer. */
const E_MAIL = /[^\s@<>()"',;:]+@[^\s@<>()"',;:]+/g

/** What a store answers about a claim, for an operator: bounded, and without what may be a token, a key or an e-mail address. */
export function storeWord(given: string, message?: unknown): StoreWord {
  const code = given.replace(/[^\w.-]/g, '_').slice(0, LONGEST_CODE)
  if (typeof message !== 'string' || message === '') return { code }
  const plain = message
    .replace(/\p{C}+/gu, ' ')
    .replace(E_MAIL, '…')
    .replace(LONG_WORD, '…')
  return { code, message: plain.slice(0, LONGEST_MESSAGE).toWellFormed() }
}
