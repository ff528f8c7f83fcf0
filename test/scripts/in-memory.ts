import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'

/** The free space required for the data of all concurrent tests. They use about a tenth of it. */
const ROOM_BYTES = 2 ** 30

/**
 * The directory for test data. It's in memory if the system has a memory file system with enough room (Docker's default
 * is only 64 MiB), because D1 and Durable Objects wait for the disk on each write, and tests mostly write.
 */
export function directoryForData(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Makes `directoryForData()` the temporary directory, where Miniflare keeps the data of the tests in workerd. */
export function setup(): void {
  process.env.TMPDIR = directoryForData()
}
