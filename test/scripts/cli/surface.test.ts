import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, it } from 'vitest'
import { commands } from '../../../src/client/cli/commands/index.ts'
import { EXIT_CODES } from '../../../src/client/cli/exit-codes.ts'
import { outputOf } from '../../../src/client/cli/experiment/each.ts'
import { Output } from '../../../src/client/cli/output.ts'
import { flagName, parse } from '../../../src/client/cli/parse.ts'
import { parsePrompt, writePrompt } from '../../../src/client/cli/prompts/file.ts'
import { fileNameOf } from '../../../src/client/cli/prompts/file-name.ts'
import { reference } from '../../../src/client/cli/reference.ts'
import { shownJson, shownText } from '../../../src/client/cli/shown-text.ts'
import { PROJECT } from '../server.ts'
import { runCli } from './run-cli.ts'

const GENERATED = '<!-- The rest of this page is generated from the commands: see CONTRIBUTING.md. -->'

describe('the help', () => {
  it('lists every command', async ({ expect }) => {
    for (const argv of [[], ['--help'], ['help']]) {
      const { code, stdout, stderr } = await runCli(argv)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      for (const { name, summary } of commands) {
        expect(stdout).toContain(name)
        expect(stdout.replace(/\s+/g, ' ')).toContain(summary)
      }
    }
  })

  it.for(commands.map(command => [command.name, command] as const))(
    'explains %s, with --help and with the help command',
    async ([name, command], { expect }) => {
      const { code, stdout } = await runCli([...name.split(' '), '--help'])
      expect(code).toBe(0)
      for (const option of Object.keys(command.options)) expect(stdout).toContain(`--${flagName(option)}`)
      expect((await runCli(['help', ...name.split(' ')])).stdout).toBe(stdout)
      expect(stdout.split('\n').filter(line => line.length > 100)).toEqual([])
    },
  )

  it('has examples that the commands accept', ({ expect }) => {
    for (const command of commands) {
      for (const [example] of command.examples) {
        const words = wordsOf(example)
        const start = words.indexOf('countersign')
        const name = command.name.split(' ')
        expect(words.slice(start + 1, start + 1 + name.length)).toEqual(name)
        expect(() => parse(command, words.slice(start + 1 + name.length))).not.toThrow()
      }
    }
  })

  it('is the same in docs/cli.md', async ({ expect }) => {
    const file = join(PROJECT, 'docs/cli.md')
    const [prose] = (await readFile(file, 'utf8')).split(GENERATED)
    await expect(`${prose}${GENERATED}\n\n${reference(commands)}\n`).toMatchFileSnapshot(file)
  })
})

/** The words of the first command in a line of shell code. */
function wordsOf(line: string): string[] {
  const words: string[] = []
  for (const [word, single, double] of line.matchAll(/'([^']*)'|"([^"]*)"|\S+/g)) {
    if (word === '|' || word === '<' || word === '>' || word === '&&') break
    words.push(single ?? double ?? word)
  }
  return words
}

describe('an invalid command line', () => {
  it.for([
    [['trace', 'list'], 'There is no command "trace". Did you mean "traces"?'],
    [['traces', 'lsit'], 'There is no command "traces lsit". Did you mean "traces list"?'],
    [['traces', 'list', '--limt', '3'], 'There is no option --limt. Did you mean --limit?'],
    [['traces', 'list', '--limit', '0'], '--limit must be a whole number from 1 to 10000'],
    [['traces', 'list', '--limit', '1e3'], '--limit must be a whole number from 1 to 10000'],
    [['traces', 'list', '--review', 'fine'], '--review must be one of: unreviewed, accepted, corrected, mixed'],
    [['traces', 'list', '--from', 'yesterday'], '--from must be a date or a time: yesterday'],
    [['traces', 'list', '--metadata', 'vip'], '--metadata must have the form path=value: vip'],
    [['traces', 'list', '--name'], "Option '--name <value>' argument missing"],
    [['traces', 'list', 'extra'], 'Unexpected argument: extra'],
    [['traces', 'list', '--', 'true'], 'Nothing may follow --'],
    [['traces', 'show'], '<trace> is missing'],
    [['--json'], 'Options come after the command'],
  ] as const)('%j is a usage error', async ([argv, message], { expect }) => {
    const { code, stdout, stderr } = await runCli(argv)
    expect({ code, stdout }).toEqual({ code: EXIT_CODES.usage.code, stdout: '' })
    if (argv[0] === '--json') expect(JSON.parse(stderr)).toMatchObject({ error: message, code: 'usage', exitCode: 2 })
    else expect(stderr).toContain(`Error: ${message}\n`)
  })
})

describe('text from traces', () => {
  it("can't control the terminal", ({ expect }) => {
    const hostile = 'a\x1b[2Jb\x07\x9b31mc\u202ed\r\x7f\n\te\x00'
    expect(shownText(hostile)).toBe('a\\x1b[2Jb\\x07\\u009b31mc\\u202ed\\x0d\\x7f\n\te\\x00')
    const json = shownJson(JSON.stringify({ [hostile]: hostile }))
    expect(json).not.toMatch(/[\p{Cc}\u202e]/u)
    expect(JSON.parse(json)).toEqual({ [hostile]: hostile })
  })
})

describe('the output', () => {
  const show = async (isTTY: boolean, environment: Record<string, string> = {}) => {
    const newStream = () => Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    const [stdout, stderr] = [newStream(), newStream()]
    const out = new Output(stdout, stderr, { isJson: false, environment })
    await out.progress('1 of 9')
    await out.progress('2 of 9')
    await out.note('note', 'bad')
    await out.line('a\x1b[2J', 'strong')
    return [stdout.read(), stderr.read()]
  }

  it('has colors and progress in a terminal', async ({ expect }) => {
    expect(await show(true)).toEqual([
      '\x1b[1ma\\x1b[2J\x1b[0m\n',
      '\r\x1b[2K1 of 9\r\x1b[2K2 of 9\r\x1b[2K\x1b[31mnote\x1b[0m\n',
    ])
    expect((await show(true, { NO_COLOR: '1' }))[0]).toBe('a\\x1b[2J\n')
  })

  it('is plain text in a pipe, with a line of progress from time to time', async ({ expect }) => {
    expect(await show(false)).toEqual(['a\\x1b[2J\n', '1 of 9\nnote\n'])
  })
})

describe('the files of prompts', () => {
  const steps = [
    'answer',
    'Answer',
    'ANSWER',
    'a/b',
    'a\\b',
    '..',
    '.',
    '../../etc/passwd',
    'a b',
    'a+b',
    'a%2fb',
    'a~b',
  ]
  const more = [
    'con',
    'CON',
    'nul.txt',
    '日本語',
    'é',
    'e\u0301',
    'a\nb',
    'readme',
    'README',
    `${'x'.repeat(255)}1`,
    `${'x'.repeat(255)}2`,
  ]

  it('have safe names that differ for different steps', ({ expect }) => {
    const ids = [
      ...steps,
      ...more,
      ...fc.sample(fc.string({ unit: 'grapheme', minLength: 1 }), { numRuns: 500, seed: 1 }),
    ]
    const names = new Map<string, string>()
    for (const id of new Set(ids)) {
      const name = fileNameOf(id)
      expect(name).toMatch(/^(?!\.|(con|nul|readme)(\.|$))[a-z0-9._+%~-]{1,180}$/)
      expect(names.get(name) ?? id).toBe(id)
      names.set(name, id)
    }
  })

  it('can be written by other programs', ({ expect }) => {
    const prompt = { stepId: 'sort ticket', versionId: undefined, content: 'Sort.\r\n', otherLines: ['owner: ada'] }
    for (const text of [
      '---\r\nstep: sort ticket\r\nowner: ada\r\n---\r\nSort.\r\n',
      '\ufeff---\nowner: ada\nstep:   "sort\\u0020ticket"  \nversion:\n---\nSort.\r\n',
    ]) {
      expect(parsePrompt(Buffer.from(text), 'file')).toEqual(prompt)
    }
    expect(parsePrompt(Buffer.from('---\nstep: a\n---'), 'file')).toMatchObject({ stepId: 'a', content: '' })
    expect(() => parsePrompt(Buffer.from([0xff]), 'a file')).toThrow("a file isn't UTF-8 text")
  })

  it('preserve the step, the version, the text, and any other lines that people write', ({ expect }) => {
    const text = fc.string({ unit: 'binary' }).filter(value => !/\p{Surrogate}/u.test(value))
    const versionId = fc.option(fc.uuid(), { nil: undefined })
    const otherLines = fc.constantFrom([], ['owner: ada', '', '# a comment'])
    const stepId = text.filter(value => value !== '')
    fc.assert(
      fc.property(fc.record({ stepId, versionId, content: text, otherLines }), prompt => {
        expect(parsePrompt(Buffer.from(writePrompt(prompt)), 'file')).toEqual(prompt)
      }),
      { seed: 1 },
    )
  })
})

describe("a command's output", () => {
  it.for([
    ['{"a": 1}\n', 'auto', { a: 1 }],
    ['42\n', 'auto', 42],
    ['42\n', 'text', '42'],
    ['Yes.\n\n', 'auto', 'Yes.\n'],
    ['Yes.\r\n', 'text', 'Yes.'],
    ['', 'text', ''],
    ['"a"', 'json', 'a'],
  ] as const)('%j as %s', ([printed, format, output], { expect }) => {
    expect(outputOf(Buffer.from(printed), format)).toEqual(output)
  })

  it.for([
    ['', 'auto', 'The command printed nothing'],
    ['Yes.', 'json', "The command didn't print JSON"],
    ['\xff', 'auto', "The command didn't print UTF-8 text"],
  ] as const)('%j as %s is an error', ([printed, format, message], { expect }) => {
    expect(() => outputOf(Buffer.from(printed, 'latin1'), format)).toThrow(message)
  })
})
