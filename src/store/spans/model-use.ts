import type { ModelUse } from '../../domain/model-use.ts'

/** The columns of a `ModelUse`. */
export const MODEL_USE = ['model', 'provider', 'usage', 'costUsd'] as const

export const modelUseRow = ({ usage, ...use }: ModelUse) => ({ ...use, usage: usage && JSON.stringify(usage) })
