import { type StepKinds, succeeded } from '../step-kind.ts'

export const exit: StepKinds['exit'] = { by: 'decision', decide: () => succeeded(null) }
