import { consumeForAutomations } from '../automations/consume.ts'
import { consumeForIntegrations } from '../deliveries/consume.ts'
import type { Consumer } from './consume.ts'

/** Who reads the log for good. */
export const CONSUMERS: Consumer[] = [
  { name: 'automations', handle: consumeForAutomations },
  { name: 'integrations', handle: consumeForIntegrations },
]
