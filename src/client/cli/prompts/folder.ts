import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type JsonObject } from '../../../domain/json.ts'
import { fieldOf } from '../../service.ts'
import { invalid } from '../failure.ts'
import { replaceFile } from '../files.ts'
import { type PromptText, parsePrompt, writePrompt } from './file.ts'
import { fileNameOf } from './file-name.ts'

/** What a version consists of. */
export interface Content {
  content: string
  /** Empty if the step has none. */
  outputSchema: Record<string, unknown>
}

/** A prompt in the folder. */
export interface LocalPrompt extends PromptText, Content {
  /** The file's path. */
  file: string
}

const ENDING = '.md'
const SCHEMA_ENDING = '.schema.json'
/** Documentation, not a prompt. No step has this file name. */
const README = /^readme\.md$/i

/** Whether two versions are the same. The order of a schema's fields doesn't matter. */
export const isSame = (one: Content, other: Content): boolean =>
  one.content === other.content && isDeepStrictEqual(one.outputSchema, other.outputSchema)

/** The prompts in a folder, by step. If a file can't be read, throws a `Failure` that names it. */
export async function readPrompts(folder: string): Promise<Map<string, LocalPrompt>> {
  const prompts = new Map<string, LocalPrompt>()
  for (const name of (await namesIn(folder)).sort()) {
    if (!name.endsWith(ENDING) || README.test(name)) continue
    const file = join(folder, name)
    const prompt = parsePrompt(await readFile(file), file)
    const other = prompts.get(prompt.stepId)
    if (other) throw invalid(`${other.file} and ${file} are for the same step, ${prompt.stepId}`)
    prompts.set(prompt.stepId, { ...prompt, file, outputSchema: await readSchema(schemaFile(file)) })
  }
  return prompts
}

/** Writes a prompt's file and, if the schema has changed, the schema's. */
export async function savePrompt(
  folder: string,
  local: LocalPrompt | undefined,
  { stepId, versionId, content, outputSchema }: Content & { stepId: string; versionId: string },
): Promise<string> {
  const file = local?.file ?? join(folder, fileNameOf(stepId) + ENDING)
  await replaceFile(file, writePrompt({ stepId, versionId, content, otherLines: local?.otherLines ?? [] }))
  // A file with the same schema keeps its formatting.
  if (!isDeepStrictEqual(local?.outputSchema ?? {}, outputSchema)) {
    const isEmpty = Object.keys(outputSchema).length === 0
    await replaceFile(schemaFile(file), isEmpty ? undefined : `${JSON.stringify(outputSchema, undefined, 2)}\n`)
  }
  return file
}

const schemaFile = (file: string): string => file.slice(0, -ENDING.length) + SCHEMA_ENDING

async function readSchema(file: string): Promise<JsonObject> {
  const text = await readFile(file, 'utf8').catch(error => {
    if (fieldOf(error, 'code') === 'ENOENT') return '{}'
    throw error
  })
  let schema: unknown
  try {
    schema = JSON.parse(text)
  } catch (error) {
    throw invalid(`${file} isn't JSON: ${fieldOf(error, 'message')}`)
  }
  if (!isJsonObject(schema)) throw invalid(`${file} isn't a JSON object`)
  return schema
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(error => {
    if (fieldOf(error, 'code') === 'ENOENT') return []
    throw invalid(`${folder} can't be read: ${fieldOf(error, 'message')}`)
  })
}
