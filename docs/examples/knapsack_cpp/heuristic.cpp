#include <cstddef>
#include <vector>

// Say how early each item is tried.
//
// value: what each item is worth, from 1 to 100.
// weight: what each item weighs, from 1 to 100, as many as there are values.
// capacity: what the sack carries, in the unit of the weights.
//
// Returns a finite number for each item: the one with the highest is tried first, and is packed if it fits.
std::vector<double> priority(const std::vector<double>& value, const std::vector<double>& weight, double capacity) {
    std::vector<double> found(value.size());
    for (std::size_t item = 0; item < value.size(); ++item) {
        found[item] = value[item] - 0.01 * weight[item];
    }
    return found;
}
