import { adjust } from './adjust.ts'
import { amplitude } from './amplitude.ts'
import { appmetrica } from './appmetrica.ts'
import { appsflyer } from './appsflyer.ts'
import { branch } from './branch.ts'
import { braze } from './braze.ts'
import { clevertap } from './clevertap.ts'
import type { EventDestination } from './destination.ts'
import { facebook } from './facebook.ts'
import { firebase } from './firebase.ts'
import { kochava } from './kochava.ts'
import { mailchimp } from './mailchimp.ts'
import { mixpanel } from './mixpanel.ts'
import { onesignal } from './onesignal.ts'
import { posthog } from './posthog.ts'
import { pushwoosh } from './pushwoosh.ts'
import { segment } from './segment.ts'
import { singular } from './singular.ts'
import { slack } from './slack.ts'
import { tenjin } from './tenjin.ts'
import { webhooks } from './webhooks.ts'

/** Who takes events as they happen. A provider that is not here cannot be activated (`integration_not_available`). */
export const eventDestinations: ReadonlyMap<string, EventDestination> = new Map(
  [
    ...[amplitude, appmetrica, facebook, firebase, mixpanel, posthog, segment],
    ...[adjust, appsflyer, branch, kochava, singular, tenjin],
    ...[slack, webhooks],
    ...[braze, clevertap, mailchimp, onesignal, pushwoosh],
  ].map(destination => [destination.slug, destination]),
)

/** Their outgoing names are tokens that the vendor issues: an event type without mapping is not selected for them. */
export const ONLY_MAPPED: ReadonlySet<string> = new Set([adjust.slug])
