import { hash } from 'node:crypto'

const digits = (value: number | bigint, length: number): string => value.toString(16).padStart(length, '0')

const dashed = (hex: string, version: number): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${version}${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`

const hashed = (text: string): string => hash('sha256', text, 'hex')

/** Creates a span's id from its number, in each form that clients use. */
export const ID_KINDS: Record<string, (index: number) => string> = {
  consecutive: index => dashed(digits(index, 32), 4),
  'counter at the start': index => dashed(digits(index, 8).padEnd(32, '0'), 4),
  'version 1': index => {
    const time = digits(0x1ef0_0000_0000_00n + BigInt(index) * 10_000n, 15)
    return dashed(`${time.slice(7)}${time.slice(3, 7)}1${time.slice(0, 3)}9abc0123456789ab`, 1)
  },
  'version 4': index => dashed(hashed(`four ${index}`), 4),
  'version 5': index => dashed(hashed(`five ${index}`), 5),
  'version 7': index => dashed(digits(1_790_000_000_000 + 3 * index, 12) + hashed(`seven ${index}`).slice(0, 20), 7),
}
