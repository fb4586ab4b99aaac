/* Multiplies two matrices by a library of schedsearch, and checks the result. */
#include <stdio.h>
#include <stdlib.h>

#include <kernels.h>

int main(void)
{
    const int m = 200, n = 300, k = 100;
    float *a = malloc(sizeof *a * m * k), *b = malloc(sizeof *b * k * n);
    float *c = calloc((size_t)m * n, sizeof *c);
    if (!a || !b || !c)
        return EXIT_FAILURE;
    for (int i = 0; i < m * k; i++)
        a[i] = (float)(i % 7);
    for (int i = 0; i < k * n; i++)
        b[i] = (float)(i % 5);

    kernels_gemm(m, n, k, c, a, b); /* c += a b */

    int wrong = 0;
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0; /* of small integers: exact in any order */
            for (int p = 0; p < k; p++)
                sum += a[i * k + p] * b[p * n + j];
            wrong += c[i * n + j] != sum;
        }
    printf("%s: %d of %d elements are wrong\n", kernels_gemm_variant(m, n, k), wrong, m * n);
    free(a);
    free(b);
    free(c);
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
