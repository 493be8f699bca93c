import { createHash } from 'node:crypto'
import { compress, type Encoding, encodingFor } from './compress.ts'
import type { Handler } from './health.ts'

/**
 * Answers with a document that stays the same as long as the process lives, or with 304 to a client that has it. Each compressed form is made
 * once, at the first request for it. A form has an ETag of its own, because its bytes are others.
 */
export function keptAnswer(type: string, document: Promise<Buffer>): Handler {
  const forms = new Map<Encoding, Promise<Buffer>>()
  const etag = document.then(content => createHash('sha256').update(content).digest('base64url'))
  // The failure is that of each request.
  etag.catch(() => {})
  const formOf = (encoding: Encoding) => {
    const form = forms.get(encoding) ?? document.then(content => compress(encoding, content, { isKept: true }))
    forms.set(encoding, form)
    return form
  }
  return async ctx => {
    const encoding = encodingFor(ctx)
    ctx.type = type
    ctx.etag = encoding === null ? await etag : `${await etag}-${encoding}`
    ctx.status = 200
    if (ctx.fresh) {
      ctx.status = 304
      return
    }
    if (encoding !== null) ctx.set('Content-Encoding', encoding)
    ctx.body = encoding === null ? await document : await formOf(encoding)
  }
}
