/**
 * A variable that was renamed or has no effect any more. `since`: the release that retired it; `use`: the variable that has taken its place, which
 * gets its value until `until`, the release that ignores it.
 */
export type RetiredSetting = { name: string; since: string; use?: string; until?: string }

/** In the order of their release. A variable leaves the list in the release that ignores it. */
const RETIRED: readonly RetiredSetting[] = []

type Env = Record<string, string | undefined>

/** The environment with the values of renamed variables under their present names, where these have none. A secret may be named by a file. */
export function withPresentNames(env: Env, retired: readonly RetiredSetting[] = RETIRED): Env {
  const renamed = retired.filter(({ use }) => use !== undefined && !env[use] && !env[`${use}_FILE`])
  return {
    ...env,
    ...Object.fromEntries(
      renamed.flatMap(({ name, use }) => ['', '_FILE'].filter(end => env[name + end]).map(end => [use + end, env[name + end]])),
    ),
  }
}

/** One line for each retired variable that is set, for the log at the start. */
export const retiredNotes = (env: Env, retired: readonly RetiredSetting[] = RETIRED): string[] =>
  retired
    .filter(({ name }) => env[name] || env[`${name}_FILE`])
    .map(({ name, since, use, until }) => {
      const what = use === undefined ? 'it has no effect any more' : `set ${use} in its place`
      return `${name} is retired since ${since}: ${what}${until === undefined ? '' : `, ${until} ignores it`}`
    })
