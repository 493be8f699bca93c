import { parseCLI, type TestProject } from 'vitest/node'

/** Whether a file of this run is in a folder that the pattern matches. */
export async function isRun(project: TestProject, pattern: RegExp): Promise<boolean> {
  const { filter } = parseCLI(['vitest', ...process.argv.slice(2)], { allowUnknownOptions: true })
  // A filter may name a line.
  const { testFiles } = await project.globTestFiles(filter.map(name => name.replace(/:\d+$/, '')))
  return testFiles.some(file => pattern.test(file))
}
