import { mkdir, rename, rm } from 'node:fs/promises'

/**
 * Makes a folder unavailable as an unmounted volume is: an empty mount point is in its place, or nothing. Resolves to the function that
 * brings the folder back; what was written into the mount point is lost then.
 */
export async function unmount(folder: string, { mountPoint = true } = {}): Promise<() => Promise<void>> {
  const away = `${folder}-away`
  await rename(folder, away)
  if (mountPoint) await mkdir(folder)
  return async () => {
    await rm(folder, { recursive: true, force: true })
    await rename(away, folder)
  }
}
