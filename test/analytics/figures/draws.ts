import { share } from '../../harness/effort.ts'

/** How many questions a test of figures draws, and from which seed. `npm run test:figures` draws others, and many more. */
export const CASES = Number(process.env.FIGURES_CASES ?? share(60))
export const SEED = Number(process.env.FIGURES_SEED ?? 20_261_123)
