import type { FetchedDocument } from '../../domain/operators/grants/client-document.ts'
import type { Outgoing } from './outgoing.ts'

const LIMIT_MS = 5_000
const MOST_BYTES = 5_000

/** Fetches the document in which a client of OAuth names itself. Null: it cannot be had, or it is too large. */
export const clientDocuments =
  (outgoing: Outgoing) =>
  async (url: string): Promise<FetchedDocument | null> => {
    const headers = { accept: 'application/json' }
    // One byte more: a document of exactly 5 kB is whole.
    const answer = await outgoing.request({ method: 'GET', url, headers, limitMs: LIMIT_MS, answerBytes: MOST_BYTES + 1 })
    if (answer.is !== 'response' || answer.status !== 200 || answer.isCut) return null
    const control = answer.headers?.['cache-control']
    return { text: answer.text, cacheControl: [control ?? ''].flat().join(', ') }
  }
