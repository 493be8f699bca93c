/** `building`: in some seconds the pages are there. `missing`: they are not, and nobody builds them. */
export type BuildState = 'built' | 'building' | 'missing'

/** Where the built pages of the console are, and whether they are there. */
export type ConsoleSource = { folder: string; state(): BuildState }
