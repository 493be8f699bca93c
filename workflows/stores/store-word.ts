import type { StoreWord } from '../../domain/purchases/verification.ts'

const LONGEST_MESSAGE = 200
/** Longer than the ids that stores give, and shorter than tokens and keys. */
const LONG_WORD = /[\w.~+/=-]{60,}|\b(sk|rk|pdl|whsec)_\w+/g

/** What a store answers about a claim, for an operator: bounded, and without what may be a token or a key. */
export function storeWord(code: string, message?: unknown): StoreWord {
  if (typeof message !== 'string' || message === '') return { code }
  const plain = message.replace(/\p{C}+/gu, ' ').replace(LONG_WORD, '…')
  return { code, message: plain.slice(0, LONGEST_MESSAGE).toWellFormed() }
}
