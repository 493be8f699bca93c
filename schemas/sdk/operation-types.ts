// The input and the answer of each handler for mobile SDKs, derived from its description.
import type { operations } from '../generated/sdk/api.ts'
import type { ItemsValidatedSeparately, OperationId, QueryDefaults } from '../generated/sdk/operations.ts'
import type { AnswerOf, InputOf } from '../operation-types.ts'

type Defaulted<Id> = Id extends keyof QueryDefaults ? QueryDefaults[Id] : never

export type SdkId = OperationId
export type SdkInput<Id extends SdkId> = InputOf<operations[Id], Defaulted<Id>, Id extends ItemsValidatedSeparately ? true : false>
export type SdkAnswer<Id extends SdkId> = AnswerOf<operations[Id]>
