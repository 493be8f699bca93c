// The input and the answer of each handler, derived from the description.
import type { operations } from './generated/api.ts'
import type { ItemsValidatedSeparately, OperationId, QueryDefaults } from './generated/operations.ts'

type Nothing = Record<never, never>
type Given<T> = [T] extends [never] ? Nothing : T

/** The generated type of one operation. */
type Operation = { parameters: { path?: unknown; query?: unknown }; requestBody?: unknown; responses: unknown }
type Parameters<Of extends Operation, Part extends 'path' | 'query'> = Given<NonNullable<Of['parameters'][Part]>>

/** Validation fills in defaults, so a parameter with a default always has a value. */
type WithDefaults<Query, Names> = Omit<Query, Names & keyof Query> & Required<Pick<Query, Names & keyof Query>>

type Json<T> = [T] extends [never] ? undefined : T extends { content: { 'application/json': infer Body } } ? Body : undefined
/** Of items that are validated separately, the validator has only checked that they are objects. */
type Unvalidated<Body> = { [Name in keyof Body]: Body[Name] extends readonly object[] ? Record<string, unknown>[] : Body[Name] }
type Body<Of extends Operation> = Json<NonNullable<Of['requestBody']>>

/** `Defaulted`: the names of the query parameters with a default. `IsSeparate`: the handler validates the items of the body. */
export type InputOf<Of extends Operation, Defaulted, IsSeparate extends boolean> = {
  path: Parameters<Of, 'path'>
  query: WithDefaults<Parameters<Of, 'query'>, Defaulted>
  body: IsSeparate extends true ? Unvalidated<Body<Of>> : Body<Of>
}

type Success = 200 | 201 | 202 | 204
type SuccessOf<Of extends Operation> = Of['responses'][Success & keyof Of['responses']]

/** JSON of the success status; void for 204. */
// biome-ignore lint/suspicious/noConfusingVoidType: the handler of a 204 returns nothing
export type AnswerOf<Of extends Operation> = SuccessOf<Of> extends { content: { 'application/json': infer Body } } ? Body : void

type Defaulted<Id> = Id extends keyof QueryDefaults ? QueryDefaults[Id] : never

export type Input<Id extends OperationId> = InputOf<operations[Id], Defaulted<Id>, Id extends ItemsValidatedSeparately ? true : false>
export type AnswerBody<Id extends OperationId> = AnswerOf<operations[Id]>
