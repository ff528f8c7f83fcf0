import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const MEMORY = '/dev/shm'

/** What the data of all tests that run at once may take: they come to a tenth of it. */
const ROOM_BYTES = 2 ** 30

/**
 * Where the data of tests lies: in memory, if the system has a place for files there with room enough (Docker gives it
 * 64 MiB). D1 and Durable Objects wait for the disk at each write, and most of what tests do is writing.
 */
export function directoryForData(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES ? MEMORY : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** Lets Miniflare keep the data of the tests in workerd there, which takes it to the directory for what is temporary. */
export function setup(): void {
  process.env.TMPDIR = directoryForData()
}
