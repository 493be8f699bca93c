import { automationUses } from '../../kernel/references/automation-naming.ts'
import { payloadUses } from '../../kernel/references/condition-uses.ts'
import type { UseSource } from '../../kernel/references/uses.ts'

/** What names a screen. */
export const SCREEN_USES: readonly UseSource[] = [automationUses('screen'), payloadUses('Screens')]
