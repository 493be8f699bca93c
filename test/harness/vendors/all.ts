import { adjust } from './adjust.ts'
import { amplitude } from './amplitude.ts'
import { appmetrica } from './appmetrica.ts'
import { appsflyer } from './appsflyer.ts'
import { branch } from './branch.ts'
import { braze } from './braze.ts'
import { clevertap } from './clevertap.ts'
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
import type { Vendor } from './vendor.ts'

export const vendors: Vendor[] = [
  ...[adjust, amplitude, appmetrica, appsflyer, branch, braze, clevertap, facebook, firebase, kochava],
  ...[mailchimp, mixpanel, onesignal, posthog, pushwoosh, segment, singular, slack, tenjin],
]
