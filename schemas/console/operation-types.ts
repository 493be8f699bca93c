// The input and the answer of each handler of the console, derived from its description.
import type { operations } from '../generated/console/api.ts'
import type { OperationId, QueryDefaults } from '../generated/console/operations.ts'
import type { AnswerOf, InputOf } from '../operation-types.ts'

type Defaulted<Id> = Id extends keyof QueryDefaults ? QueryDefaults[Id] : never

export type ConsoleId = OperationId
export type ConsoleInput<Id extends ConsoleId> = InputOf<operations[Id], Defaulted<Id>, false>
export type ConsoleAnswer<Id extends ConsoleId> = AnswerOf<operations[Id]>
