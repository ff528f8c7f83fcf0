import { readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'

/* What the system tells of a process. Linux alone does, in /proc: elsewhere all of it is NaN. */

const CLOCK_TICK_MS = 10

const read = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')

/** The processor time that a process has taken, in milliseconds. */
export async function processorMs(id: number): Promise<number> {
  // The name, in brackets, may hold anything; user and system time are the 12th and 13th field after it.
  const fields = (await read(`/proc/${id}/stat`)).split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK_MS
}

/** The processor time that the first thread of a process has taken, in milliseconds. At once: who asks has nothing else to do. */
export function threadMs(id: number): number {
  try {
    return Number(readFileSync(`/proc/${id}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return Number.NaN
  }
}

/** The most memory of a process that lay in RAM since `resetPeak`, in bytes. */
export async function peakMemory(id: number): Promise<number> {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(await read(`/proc/${id}/status`))?.[1]) * 1024
}

/** The memory of a process that lies in RAM now, in bytes. */
export async function residentMemory(id: number): Promise<number> {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(await read(`/proc/${id}/status`))?.[1]) * 1024
}

export const resetPeak = (id: number): Promise<void> => writeFile(`/proc/${id}/clear_refs`, '5').catch(() => {})
