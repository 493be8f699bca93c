import type { Logger } from 'pino'
import type { AnswerCheck } from './answered.ts'

export type CheckOptions = {
  /** Share of the answers that are checked, 0..1. */
  share: number
  /** A wrong answer becomes a 500 with `fail` (tests), and goes out with `log` (production). */
  onMismatch: 'fail' | 'log'
  log: Logger
}

/** Compares answers with the description and reports the first difference, so that the two cannot drift apart unnoticed. */
export function answerCheck({ share, onMismatch, log }: CheckOptions): AnswerCheck {
  return (description, status, body) => {
    if (share < 1 && Math.random() >= share) return
    const validator = description.validate.answer[status]
    if (body === undefined ? status === 204 : validator?.(body)) return
    const reason = `${description.id} answered ${status}, not as described: ${JSON.stringify(validator?.errors?.slice(0, 3) ?? 'undocumented')}`
    if (onMismatch === 'fail') throw new Error(reason)
    log.error({ operation: description.id, status, errors: validator?.errors?.slice(0, 3) }, 'answer does not match the description')
  }
}
