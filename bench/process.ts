import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

/*
 * A process's resource use, read from /proc. On systems other than Linux, all values are NaN.
 */

const CLOCK_TICK_MS = 10

const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

/** The processor time that a process has used, in milliseconds. */
export async function processorMs(id: number): Promise<number> {
  // The name in parentheses may contain anything; user and system time are the 12th and 13th fields after it.
  const fields = (await read(`/proc/${id}/stat`)).split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS
}

/**
 * The processor time of a process's first thread, in milliseconds. This function is synchronous, because its caller has
 * nothing else to do.
 */
export function threadMs(id: number): number {
  try {
    return Number(readFileSync(`/proc/${id}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return Number.NaN
  }
}

/** The peak resident memory of a process since `resetPeak`, in bytes. */
export async function peakMemory(id: number): Promise<number> {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(await read(`/proc/${id}/status`))?.[1]) * 1024
}

/** The resident memory of a process, in bytes. */
export async function residentMemory(id: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(await read(`/proc/${id}/status`))?.[1]) * 1024
}

export const resetPeak = (id: number): Promise<void> => writeFile(`/proc/${id}/clear_refs`, '5').catch(() => {})
