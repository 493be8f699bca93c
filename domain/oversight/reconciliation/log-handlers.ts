import { consumeForAutomations } from '../../automations/consume.ts'
import { AUTOMATION_RUN_DUE } from '../../durable/jobs/wake-runs.ts'
import type { Consumer } from '../../durable/log/consume.ts'
import { consumeForIntegrations } from '../../integrations/deliveries/consume.ts'
import { DELIVERY_DUE } from '../../integrations/deliveries/delivery.ts'

/** The consumers of the log. */
export const CONSUMERS: Consumer[] = [
  { name: 'automations', jobKind: AUTOMATION_RUN_DUE, handle: consumeForAutomations },
  { name: 'integrations', jobKind: DELIVERY_DUE, handle: consumeForIntegrations },
]
