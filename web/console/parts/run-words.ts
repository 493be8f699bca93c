import { plain, t } from './t.ts'

const REASONS: Readonly<Record<string, string>> = {
  no_user: 'the event names nobody',
  automation_paused: 'the automation was paused',
  platform_mismatch: 'the automation is for another platform than that of the event',
  segment_mismatch: 'the customer was not in its segments at that moment',
  already_running: 'a run of this automation was still under way for the customer',
  frequency_capped: 'the automation has started as often as its frequency allows',
  exit: 'a step has ended it',
  cancelled_by_api: 'somebody has cancelled it',
  automation_inactive: 'its automation was switched off',
  automation_deleted: 'its automation was deleted',
  step_mismatch: 'its recorded steps are not those of its version',
  webhook_failed: 'the receiver has not accepted the webhook',
  integration_not_found: 'the integration does not exist any more',
  email_rejected: 'the mail server has refused the e-mail',
  email_failed: 'the e-mail could not be sent',
  email_not_configured: 'nothing is set up that sends e-mail',
  no_recipient: 'no e-mail address is known',
  push_rejected: 'the provider has refused the push',
  push_failed: 'the push could not be sent',
  push_not_configured: 'no integration is set up that sends pushes',
  push_not_found: 'the push does not exist any more',
  no_device: 'no device of the customer is known',
  screen_not_found: 'the screen does not exist any more',
  entitlement_not_found: 'the entitlement does not exist any more',
  paid_entitlement: 'a purchase gives this access already',
  property_limit_reached: 'the customer has as many properties as are allowed',
}

/** Why a run did not start or ended, or what became of a step: within a sentence. */
export const runReason = (reason: string): string =>
  t((Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined) ?? plain(reason).toLowerCase())

/** `skipped` as a person reads it of a run. */
export const runStatus = (status: string): string => (status === 'skipped' ? t('Did not start') : plain(status))
