import { consumeForAutomations } from '../automations/consume.ts'
import { consumeForIntegrations } from '../deliveries/consume.ts'
import { DELIVERY_DUE } from '../deliveries/delivery.ts'
import { AUTOMATION_RUN_DUE } from '../jobs/wake-runs.ts'
import type { Consumer } from '../log/consume.ts'

/** The consumers of the log. */
export const CONSUMERS: Consumer[] = [
  { name: 'automations', jobKind: AUTOMATION_RUN_DUE, handle: consumeForAutomations },
  { name: 'integrations', jobKind: DELIVERY_DUE, handle: consumeForIntegrations },
]
