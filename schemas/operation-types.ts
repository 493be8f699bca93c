// The input and the answer of each handler, derived from the description.
import type { operations } from './generated/api.ts'
import type { ItemsValidatedSeparately, OperationId, QueryDefaults } from './generated/operations.ts'

type Nothing = Record<never, never>
type Given<T> = [T] extends [never] ? Nothing : T
type Parameters<Id extends OperationId, Place extends 'path' | 'query'> = Given<NonNullable<operations[Id]['parameters'][Place]>>

/** Validation fills in defaults, so a parameter with a default always has a value. */
type WithDefaults<Query, Names> = Omit<Query, Names & keyof Query> & Required<Pick<Query, Names & keyof Query>>
type Defaulted<Id> = Id extends keyof QueryDefaults ? QueryDefaults[Id] : never

type Json<T> = [T] extends [never] ? undefined : T extends { content: { 'application/json': infer Body } } ? Body : undefined
/** Of items that are validated separately, the validator has only checked that they are objects. */
type Unvalidated<Body> = { [Name in keyof Body]: Body[Name] extends readonly object[] ? Record<string, unknown>[] : Body[Name] }
type Body<Id extends OperationId> = Json<NonNullable<operations[Id]['requestBody']>>

export type Input<Id extends OperationId> = {
  path: Parameters<Id, 'path'>
  query: WithDefaults<Parameters<Id, 'query'>, Defaulted<Id>>
  body: Id extends ItemsValidatedSeparately ? Unvalidated<Body<Id>> : Body<Id>
}

type Success = 200 | 201 | 202 | 204
type Responses<Id extends OperationId> = operations[Id]['responses']
type SuccessOf<Id extends OperationId> = Responses<Id>[Success & keyof Responses<Id>]

/** JSON of the success status; void for 204. */
// biome-ignore lint/suspicious/noConfusingVoidType: the handler of a 204 returns nothing
export type AnswerBody<Id extends OperationId> = SuccessOf<Id> extends { content: { 'application/json': infer Body } } ? Body : void
