import type { OperationDescription, OperationId } from '../schemas/generated/operations.ts'
import type { Answered } from './idempotency.ts'
import type { Reply } from './operation.ts'

/** Compares an answer with the description and reports every difference. */
export type AnswerCheck = (description: DescribedAnswers, status: number, body: unknown) => void
/** What the description says about answers; of an operation of v4 or v3. */
export type DescribedAnswers = Pick<OperationDescription, 'status'> & {
  id: string
  validate: Pick<OperationDescription['validate'], 'answer'>
}

export type CallToAnswer = {
  description: OperationDescription
  check: AnswerCheck
  call: { path: Record<string, string>; body: unknown }
}

/** The reply of a handler as it is stored and sent. */
export function answerOf({ description, check, call }: CallToAnswer, reply: Reply<OperationId>): Answered {
  check(description, description.status, reply.body)
  const url = (reply.body as { url?: string } | undefined)?.url
  return {
    status: description.status,
    body: reply.body === undefined ? null : JSON.stringify(reply.body),
    // The answers 201 and 202 name the address of the object.
    location: (description.status === 201 || description.status === 202) && url ? url : null,
    headers: reply.headers ?? {},
    user: userOf(call.path, call.body, reply.body),
  }
}

/** The user of a request: named in the path, else in the answer, else in the body. The stored answer is erased together with the user. */
export function userOf(path: Record<string, string>, body: unknown, answer: unknown): string | null {
  const named = path.user_id ?? path.customer_id
  if (named !== undefined) return named
  const { object, id, user_id } = (answer ?? {}) as Record<string, unknown>
  const user = object === 'user' ? id : (user_id ?? (body as Record<string, unknown> | null | undefined)?.user_id)
  return typeof user === 'string' ? user : null
}
