import { useMutation } from '@tanstack/react-query'
import { useRef } from 'react'

interface SubmissionOptions<Input, Answer> {
  send: (input: Input) => Promise<Answer>
  onDone?: (answer: Answer, input: Input) => unknown
  /** For callers that don't show `error` on the page. */
  onFault?: (error: Error) => unknown
}

/** A write that ignores further submissions while one is pending. */
export function useSubmission<Input, Answer>({ send, onDone, onFault }: SubmissionOptions<Input, Answer>) {
  // `isPending` updates too late for a double click.
  const isUnderWay = useRef(false)
  const { mutate, isPending, error, variables, reset } = useMutation<Answer, Error, Input>({
    mutationFn: send,
    onSuccess: (answer, input) => onDone?.(answer, input),
    onError: fault => onFault?.(fault),
    onSettled: () => {
      isUnderWay.current = false
    },
  })
  const submit = (input: Input) => {
    if (isUnderWay.current) return
    isUnderWay.current = true
    mutate(input)
  }
  return { submit, isPending, error, variables, reset }
}
