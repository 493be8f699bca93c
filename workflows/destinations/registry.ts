import { adjustDestination } from './adjust.ts'
import { amplitudeDestination } from './amplitude.ts'
import { appmetricaDestination } from './appmetrica.ts'
import { appsflyerDestination } from './appsflyer.ts'
import { branchDestination } from './branch.ts'
import { brazeDestination } from './braze.ts'
import { clevertapDestination } from './clevertap.ts'
import type { EventDestination } from './destination.ts'
import { facebookDestination } from './facebook.ts'
import { firebaseDestination } from './firebase.ts'
import { kochavaDestination } from './kochava.ts'
import { mailchimpDestination } from './mailchimp.ts'
import { mixpanelDestination } from './mixpanel.ts'
import { onesignalDestination } from './onesignal.ts'
import { posthogDestination } from './posthog.ts'
import { pushwooshDestination } from './pushwoosh.ts'
import { segmentDestination } from './segment.ts'
import { singularDestination } from './singular.ts'
import { slackDestination } from './slack.ts'
import { tenjinDestination } from './tenjin.ts'
import { webhooksDestination } from './webhooks.ts'

/** The destinations of events. A provider that is missing here cannot be activated (`integration_not_available`). */
export const eventDestinations: ReadonlyMap<string, EventDestination> = new Map(
  [
    ...[
      amplitudeDestination,
      appmetricaDestination,
      facebookDestination,
      firebaseDestination,
      mixpanelDestination,
      posthogDestination,
      segmentDestination,
    ],
    ...[adjustDestination, appsflyerDestination, branchDestination, kochavaDestination, singularDestination, tenjinDestination],
    ...[slackDestination, webhooksDestination],
    ...[brazeDestination, clevertapDestination, mailchimpDestination, onesignalDestination, pushwooshDestination],
  ].map(destination => [destination.slug, destination]),
)

/** Destinations whose outgoing names are tokens that the vendor issues: they receive only event types with a mapping. */
export const ONLY_MAPPED: ReadonlySet<string> = new Set([adjustDestination.slug])
