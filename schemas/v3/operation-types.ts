// The input and the answer of each handler of v3, derived from its description.
import type { operations } from '../generated/v3/api.ts'
import type { ItemsValidatedSeparately, OperationId, QueryDefaults } from '../generated/v3/operations.ts'
import type { AnswerOf, InputOf } from '../operation-types.ts'

type Defaulted<Id> = Id extends keyof QueryDefaults ? QueryDefaults[Id] : never

export type V3Id = OperationId
export type V3Input<Id extends V3Id> = InputOf<operations[Id], Defaulted<Id>, Id extends ItemsValidatedSeparately ? true : false>
export type V3Answer<Id extends V3Id> = AnswerOf<operations[Id]>
